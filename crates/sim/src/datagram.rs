//! UDP datagrams as packets of the simulation, and as they are captured.

use longhaul_quic::Datagram;
use longhaul_segment::{Ecn, EncodeError, IPV4_HEADER, Segment, UDP_HEADER, ip};
use longhaul_traffic::Side;
use longhaul_units::EndpointId;

/// Bytes of an IPv4 and a UDP header (RFC 768).
pub(crate) const UDP_HEADERS: u32 = IPV4_HEADER + UDP_HEADER;
/// IP protocol number of UDP (RFC 768).
const PROTOCOL_UDP: u8 = 17;
/// Ports of clients and servers; hosts differ by their address.
pub(crate) const PORTS: [u16; 2] = [40_000, 443];
/// Port of the passive ends of plain UDP flows, which is iperf's.
pub(crate) const PLAIN_PORT: u16 = 5001;

/// Bytes of a datagram that a capture keeps: headers and the frames before the data.
const CAPTURED: usize = 128;

/// What a capture keeps of a datagram.
pub(crate) fn captured(datagram: &Datagram) -> Box<[u8]> {
    datagram.bytes[..datagram.bytes.len().min(CAPTURED)].into()
}

/// A captured packet as it would be on the wire: IP and UDP headers, and the first bytes of the datagram. `server` is the port of the
/// passive end. Each connection has a
/// client's port of its own; the checksum is left out, as IPv4 allows (RFC 768).
pub(crate) fn encode(
    ip: &ip::Header,
    to: EndpointId,
    server: u16,
    wire_len: u32,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let udp_len = wire_len - IPV4_HEADER;
    ip.encode(PROTOCOL_UDP, udp_len, out)?;
    let client = 1024 + (to.connection().0 % 60_000) as u16;
    let [from, to] = match to.side() {
        Side::Client => [server, client],
        Side::Server => [client, server],
    };
    for field in [from, to, udp_len as u16, 0] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(payload);
    Ok(())
}

/// What a packet's place among the segments holds of a datagram: how much of streams is in it.
pub(crate) fn stand_in(datagram: &Datagram) -> (Segment, Ecn) {
    (Segment { payload_len: datagram.content.stream_bytes, ..Segment::default() }, datagram.ecn)
}
