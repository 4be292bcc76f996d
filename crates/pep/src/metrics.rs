//! Metrics over HTTP, for Prometheus on the same machine.

use crate::node::Node;
use crate::report;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A client has this long for its request, and for the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers requests, for ever.
pub(crate) async fn serve(node: Arc<Node>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let node = node.clone();
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(PATIENCE, answer(&node, stream)).await;
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(node: &Node, mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = vec![];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() > crate::http::LONGEST || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let known = head.starts_with(b"GET /metrics ") || head.starts_with(b"GET / ");
    let (status, body) = match known {
        true => ("200 OK", report::metrics(node)),
        false => ("404 Not Found", "only /metrics is here\n".to_string()),
    };
    let len = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
