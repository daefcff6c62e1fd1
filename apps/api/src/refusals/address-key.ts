import ipaddr from 'ipaddr.js';

/** Groups of 16 bits in a /64 network. */
const networkParts = 4;

/** The name under which requests of a client address are counted: one IPv4 address, or the /64 network of an IPv6 address, which one client has. */
export function addressKeyOf(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, networkParts).join(':') : parsed.toString();
}
