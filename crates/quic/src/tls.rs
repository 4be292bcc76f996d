//! Sessions with TLS 1.3 for real networks, in which both ends show raw public keys (RFC 7250) that the other expects. There
//! are no certificates, names or authorities. Keys are Ed25519 (RFC 8032).

use crate::settings::Session;
use quinn_proto::crypto;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::{Arc, PoisonError, RwLock};

/// SubjectPublicKeyInfo of an Ed25519 key without the key (RFC 8410 section 4).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// An Ed25519 public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    fn of_spki(der: &[u8]) -> Option<Self> {
        let key = der.strip_prefix(&SPKI)?;
        Some(PublicKey(key.try_into().ok()?))
    }
}

/// Public keys of those who are let in. All sessions share one list, which may change while they are in use: a new handshake is
/// judged by what it contains then.
#[derive(Clone, Debug, Default)]
pub struct Trusted(Arc<RwLock<Vec<PublicKey>>>);

impl Trusted {
    /// Puts other keys in the place of all.
    pub fn set(&self, keys: impl IntoIterator<Item = PublicKey>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys.into_iter().collect();
    }

    /// True if the owner of a key is let in.
    pub fn contains(&self, key: &PublicKey) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(key)
    }
}

impl FromIterator<PublicKey> for Trusted {
    fn from_iter<T: IntoIterator<Item = PublicKey>>(keys: T) -> Self {
        Trusted(Arc::new(RwLock::new(keys.into_iter().collect())))
    }
}

/// A key pair, of which the secret part stays in memory until it is dropped.
pub struct Identity {
    key: Arc<CertifiedKey>,
    public: PublicKey,
}

impl Identity {
    /// From an Ed25519 private key in PKCS #8 (RFC 8410), in DER.
    ///
    /// # Errors
    /// If it is none.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, Error> {
        let provider = rustls::crypto::ring::default_provider();
        let secret = PrivatePkcs8KeyDer::from(der.to_vec()).into();
        let key = provider.key_provider.load_private_key(secret)?;
        let spki =
            key.public_key().ok_or_else(|| Error::General("the private key has no public key".into()))?;
        let public = PublicKey::of_spki(&spki)
            .ok_or_else(|| Error::General("the private key must be one of Ed25519".into()))?;
        let entry = CertificateDer::from(spki.to_vec());
        Ok(Identity { key: Arc::new(CertifiedKey::new(vec![entry], key)), public })
    }

    /// A new key pair from the system's random numbers, in PKCS #8.
    ///
    /// # Errors
    /// If there are no random numbers.
    pub fn generate_pkcs8() -> Result<Vec<u8>, Error> {
        let mut secret = [0; 32];
        rustls::crypto::ring::default_provider().secure_random.fill(&mut secret)?;
        // PrivateKeyInfo of an Ed25519 key (RFC 8410 section 7).
        const PREFIX: [u8; 16] =
            [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
        Ok([&PREFIX[..], &secret].concat())
    }

    /// Its public part.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }
}

/// Sessions for connections in both directions: `identity` is shown, and one of `peers` must be.
///
/// # Errors
/// If TLS cannot be set up.
pub fn session(identity: &Identity, peers: &Trusted, alpn: &[u8]) -> Result<Session, Error> {
    let streams = streams(identity, peers, alpn)?;
    Ok(Session::Real {
        client: Some(Arc::new(QuicClientConfig::try_from(streams.client).map_err(no_suite)?)),
        server: Some(Arc::new(QuicServerConfig::try_from(streams.server).map_err(no_suite)?)),
    })
}

/// TLS for both roles, for use over byte streams.
pub struct Streams {
    /// Of the end that opens the connection.
    pub client: rustls::ClientConfig,
    /// Of the other end.
    pub server: rustls::ServerConfig,
}

/// As [`session`], for byte streams in place of QUIC.
///
/// # Errors
/// If TLS cannot be set up.
pub fn streams(identity: &Identity, peers: &Trusted, alpn: &[u8]) -> Result<Streams, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pinned =
        Arc::new(Pinned { peers: peers.clone(), algorithms: provider.signature_verification_algorithms });
    Ok(Streams {
        client: client(identity, Arc::clone(&pinned), Arc::clone(&provider), alpn)?,
        server: server(identity, pinned, provider, alpn)?,
    })
}

fn no_suite(_: impl std::fmt::Display) -> Error {
    Error::General("TLS has no cipher suite for QUIC's first packets".into())
}

fn client(
    identity: &Identity,
    pinned: Arc<Pinned>,
    provider: Arc<CryptoProvider>,
    alpn: &[u8],
) -> Result<rustls::ClientConfig, Error> {
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(pinned)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::clone(
            &identity.key,
        ))));
    config.alpn_protocols = vec![alpn.to_vec()];
    // Nothing is resumed: the connection stays, and each new one shows the keys again.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

fn server(
    identity: &Identity,
    pinned: Arc<Pinned>,
    provider: Arc<CryptoProvider>,
    alpn: &[u8],
) -> Result<rustls::ServerConfig, Error> {
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(pinned)
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::clone(&identity.key))));
    config.alpn_protocols = vec![alpn.to_vec()];
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// The public key that the peer of an established session has shown.
pub fn peer_key(session: &dyn crypto::Session) -> Option<[u8; 32]> {
    let entries = session.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    key_of(Some(&entries))
}

/// The public key among what a peer has shown.
pub fn key_of(shown: Option<&[CertificateDer<'static>]>) -> Option<[u8; 32]> {
    PublicKey::of_spki(shown?.first()?).map(|key| key.0)
}

/// Lets in those whose keys are known.
#[derive(Debug)]
struct Pinned {
    peers: Trusted,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        let known = PublicKey::of_spki(shown).is_some_and(|key| self.peers.contains(&key));
        known.then_some(()).ok_or(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }
}

fn only_tls13() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::General("TLS 1.2 is not spoken".into()))
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        only_tls13()
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        only_tls13()
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
