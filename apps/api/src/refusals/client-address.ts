import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';

import ipaddr from 'ipaddr.js';

/** Groups of 16 bits in a /64 network. */
const networkParts = 4;
/** Maximum proxies that are read: the header may be long, and any client can send it. */
const maxProxies = 20;

/**
 * Returns the key under which requests of a client are counted: an IPv4 address, or the /64 network of an IPv6 address, because one client
 * has the whole network.
 */
export type ClientAddressKey = (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string;

/**
 * Finds the client behind the operator's proxies: the last address of `X-Forwarded-For` that is not one of `proxies` (addresses or
 * networks). The header is read only if a proxy sends it; otherwise a client could choose its address.
 */
export function clientAddressKeys(proxies: readonly string[]): ClientAddressKey {
  const trusted = new BlockList();
  for (const proxy of proxies) {
    const [address = '', prefix] = proxy.split('/');
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    if (prefix === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(prefix), family);
  }
  const isTrusted = (address: Address) => trusted.check(address.toString(), address.kind());
  return ({ socket, headers }) => {
    let client = parsed(socket.remoteAddress);
    // Node joins repeated headers of this name with commas; its types allow a list.
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').slice(-maxProxies);
    while (client !== null && isTrusted(client)) {
      const before = parsed(forwarded.pop()?.trim());
      if (before === null) break;
      client = before;
    }
    return client === null ? 'unknown' : keyOf(client);
  };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Null: not an address. An IPv4 address within IPv6 becomes IPv4. */
function parsed(address: string | undefined): Address | null {
  return address !== undefined && ipaddr.isValid(address) ? ipaddr.process(address) : null;
}

function keyOf(address: Address): string {
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, networkParts).join(':') : address.toString();
}
