//! The null session's packets are as large as those of TLS.

mod common;

use common::{World, fetch, path};
use longhaul_quic::{Credentials, Session, Settings};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::sync::Arc;

/// A certificate for `localhost` with an Ed25519 key, whose signatures are always 64 bytes long, made for this test.
const CERTIFICATE: &[u8] = include_bytes!("data/certificate.der");
/// More than a transfer: what is written ahead differs between the two, and with it the frames that report a full window.
const WINDOW: u64 = 1 << 24;
/// So often is it in the chain: the server's flight takes more than one datagram, which then is not padded.
const CHAIN: usize = 5;
const KEY: &[u8] = include_bytes!("data/key.der");

fn real() -> Settings {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = [&rustls::version::TLS13];
    let certificate = CertificateDer::from(CERTIFICATE);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut server = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate; CHAIN], PrivatePkcs8KeyDer::from(KEY).into())
        .unwrap();
    server.max_early_data_size = u32::MAX;
    let session = Session::Real {
        client: Some(Arc::new(QuicClientConfig::try_from(client).unwrap())),
        server: Some(Arc::new(QuicServerConfig::try_from(server).unwrap())),
    };
    Settings { session, stream_window: WINDOW, ..Settings::default() }
}

fn null() -> Settings {
    let credentials = Credentials { certificates: vec![CERTIFICATE.len() as u32; CHAIN], signature: 64 };
    Settings { credentials, early_data: true, stream_window: WINDOW, ..Settings::default() }
}

fn logs(world: &World) -> [Vec<(u64, usize)>; 2] {
    [world.lines[0].log.clone(), world.lines[1].log.clone()]
}

/// Handshake, request, response of 2 MB, close: every datagram in both directions has the same size at the same nanosecond.
#[test]
fn every_packet_is_as_large_as_with_tls() {
    for loss in [0, 1000] {
        let (time, with_tls) = fetch(real(), real(), path(10, 100, loss), 300, 2_000_000);
        let (null_time, without) = fetch(null(), null(), path(10, 100, loss), 300, 2_000_000);
        let (with_tls, without) = (logs(&with_tls), logs(&without));
        for line in 0..2 {
            let first = with_tls[line].iter().zip(&without[line]).position(|(a, b)| a != b);
            if let Some(at) = first {
                panic!(
                    "loss {loss}, direction {line}, datagram {at}: {:?} with TLS, {:?} without",
                    &with_tls[line][at..with_tls[line].len().min(at + 4)],
                    &without[line][at..without[line].len().min(at + 4)]
                );
            }
            assert_eq!(with_tls[line].len(), without[line].len(), "loss {loss}, direction {line}");
        }
        assert!(with_tls[1].len() > 1300, "{} datagrams", with_tls[1].len());
        assert_eq!(time, null_time);
    }
}
