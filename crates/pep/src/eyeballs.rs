//! Several addresses of one server (RFC 8305, "happy eyeballs"): the families take turns, and the next address is tried as soon as the one
//! before has failed, or has had its time. The first that answers is taken.

use crate::flow::End;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;

/// What an address has before the next one is tried (RFC 8305, section 8: Connection Attempt Delay).
pub(crate) const DELAY: Duration = Duration::from_millis(250);
/// Addresses of one name that are tried.
pub(crate) const MOST: usize = 8;

/// Why an address was not reached.
pub(crate) type Failure = (End, io::Error);

/// The order of section 4: as the resolver sorts them (RFC 6724), but the families take turns. Each address once, and no more than are
/// tried.
pub(crate) fn in_turn(addresses: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (mut first, mut other): (VecDeque<SocketAddr>, VecDeque<SocketAddr>) = Default::default();
    for address in addresses {
        let is_first = first.front().is_none_or(|one| one.is_ipv4() == address.is_ipv4());
        let list = if is_first { &mut first } else { &mut other };
        if !list.contains(&address) {
            list.push_back(address);
        }
    }
    let mut all = vec![];
    while all.len() < MOST {
        let before = all.len();
        all.extend(first.pop_front());
        all.extend(other.pop_front());
        if all.len() == before {
            break;
        }
    }
    all.truncate(MOST);
    all
}

/// The first of these addresses that answers, with what `attempt` has made there; others are given up. An address has `delay` before the
/// next one is tried. If none answers: a refusal, if there was one, else the first failure.
pub(crate) async fn first<T, F>(
    addresses: Vec<SocketAddr>,
    delay: Duration,
    attempt: impl Fn(SocketAddr) -> F,
) -> Result<(SocketAddr, T), Failure>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Failure>> + Send + 'static,
{
    if let [only] = addresses[..] {
        return attempt(only).await.map(|made| (only, made));
    }
    let mut left = addresses.into_iter();
    let mut running = JoinSet::new();
    let mut failed: Option<Failure> = None;
    loop {
        if let Some(address) = left.next() {
            let attempt = attempt(address);
            running.spawn(async move { (address, attempt.await) });
        } else if running.is_empty() {
            let none = || (End::Unreachable, io::ErrorKind::HostUnreachable.into());
            return Err(failed.unwrap_or_else(none));
        }
        let last = left.len() == 0;
        let ended = tokio::select! {
            ended = running.join_next() => ended,
            () = tokio::time::sleep(delay), if !last => None,
        };
        match ended {
            Some(Ok((address, Ok(made)))) => return Ok((address, made)),
            Some(Ok((_, Err(why)))) => {
                let better =
                    failed.as_ref().is_none_or(|(end, _)| *end != End::Refused && why.0 == End::Refused);
                if better {
                    failed = Some(why);
                }
            }
            // A task that panicked has no answer.
            Some(Err(_)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|one| one.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns() {
        let sorted =
            ["[2001:db8::1]:80", "[2001:db8::2]:80", "[2001:db8::1]:80", "192.0.2.1:80", "192.0.2.2:80"];
        let expected = ["[2001:db8::1]:80", "192.0.2.1:80", "[2001:db8::2]:80", "192.0.2.2:80"];
        assert_eq!(in_turn(addresses(&sorted)), addresses(&expected));
        let many = (0..100).map(|n| SocketAddr::from(([192, 0, 2, n], 80)));
        assert_eq!(in_turn(many).len(), MOST);
        assert_eq!(in_turn([]), []);
    }

    /// What happens at an address: an answer or a failure, after some milliseconds.
    type Script = (u64, Result<u8, End>);

    /// Runs addresses 192.0.2.0, .1, .. by a script; returns the result, and when each was begun.
    async fn run(script: &'static [Script], delay: u64) -> (Result<(u8, u8), End>, Vec<u128>) {
        let begun = Arc::new(Mutex::new(vec![]));
        let begin = Instant::now();
        let list = (0..script.len()).map(|n| SocketAddr::from(([192, 0, 2, n as u8], 80))).collect();
        let found = first(list, Duration::from_millis(delay), |address| {
            begun.lock().unwrap().push(begin.elapsed().as_millis());
            let std::net::IpAddr::V4(ip) = address.ip() else { panic!("{address}") };
            let (after, result) = script[usize::from(ip.octets()[3])];
            async move {
                tokio::time::sleep(Duration::from_millis(after)).await;
                result.map_err(|end| (end, io::ErrorKind::Other.into()))
            }
        });
        let found = found.await;
        let last = |address: SocketAddr| match address.ip() {
            std::net::IpAddr::V4(ip) => ip.octets()[3],
            std::net::IpAddr::V6(_) => panic!("{address}"),
        };
        let begun = begun.lock().unwrap().clone();
        (found.map(|(address, made)| (last(address), made)).map_err(|(end, _)| end), begun)
    }

    #[tokio::test]
    async fn a_silent_address_costs_the_delay_and_a_failed_one_nothing() {
        const SLOW: u64 = 60_000;
        let (found, begun) = run(&[(SLOW, Ok(0)), (1, Ok(1)), (1, Ok(2))], 100).await;
        assert_eq!((found, begun.len()), (Ok((1, 1)), 2));
        assert!((100..1000).contains(&begun[1]), "{begun:?}");
        let (found, begun) = run(&[(1, Err(End::Unreachable)), (1, Ok(1))], SLOW).await;
        assert_eq!(found, Ok((1, 1)));
        assert!(begun[1] < 1000, "{begun:?}");
        // The one before may still be the first.
        let (found, begun) = run(&[(150, Ok(7)), (SLOW, Ok(1))], 50).await;
        assert_eq!((found, begun.len()), (Ok((0, 7)), 2));
    }

    #[tokio::test]
    async fn a_refusal_is_the_answer_if_nobody_answers() {
        let (found, _) =
            run(&[(1, Err(End::Unreachable)), (20, Err(End::Refused)), (1, Err(End::Forbidden))], 5).await;
        assert_eq!(found, Err(End::Refused));
        let (found, _) = run(&[(1, Err(End::Forbidden)), (5, Err(End::Unreachable))], 5).await;
        assert_eq!(found, Err(End::Forbidden));
        assert_eq!(run(&[], 5).await.0, Err(End::Unreachable));
    }
}
