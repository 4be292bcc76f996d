//! Sessions with TLS 1.3 for real packets on a network of one's own: all of the cryptography, but a certificate of whatever length,
//! which is not looked at. Nothing here shows who the peer is.

use crate::settings::Session;
use crate::tls::Identity;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// Bytes of an Ed25519 signature (RFC 8032 section 5.1.6).
const SIGNATURE: usize = 64;

/// A session for client and server. Certificate and signature have `credentials` bytes together; with `early_data` a resumed
/// connection may begin with them.
///
/// # Errors
/// If TLS cannot be set up.
pub fn session(credentials: usize, early_data: bool) -> Result<Session, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = [&rustls::version::TLS13];
    let verifier = Arc::new(Anybody(Arc::clone(&provider)));
    let mut client = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    client.enable_early_data = early_data;
    let secret = PrivatePkcs8KeyDer::from(Identity::generate_pkcs8()?).into();
    let key = provider.key_provider.load_private_key(secret)?;
    let filler = CertificateDer::from(vec![0; credentials.saturating_sub(SIGNATURE).max(1)]);
    let shown = Shown(Arc::new(CertifiedKey::new(vec![filler], key)));
    let mut server = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(shown));
    server.max_early_data_size = if early_data { u32::MAX } else { 0 };
    let no_suite = |_| Error::General("TLS has no cipher suite for QUIC's first packets".into());
    Ok(Session::Real {
        client: Some(Arc::new(QuicClientConfig::try_from(client).map_err(no_suite)?)),
        server: Some(Arc::new(QuicServerConfig::try_from(server).map_err(no_suite)?)),
    })
}

/// Shows the filler to everybody.
#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// Takes everybody's word.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3".into()))
    }
    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
