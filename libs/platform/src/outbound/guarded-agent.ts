import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

import ipaddr from 'ipaddr.js';
import { Agent, buildConnector } from 'undici';

import { AppError } from '../errors/app-error.js';
import { addressRefused } from './outbound.errors.js';

/** The options of a guarded agent. */
export interface GuardedAgentOptions {
  /** Allows loopback and private addresses, all or some of them: for development, never in production. */
  readonly allowPrivate?: boolean | ((address: string) => boolean);
  /** Resolves host names; default: the system's resolver. */
  readonly lookup?: typeof systemLookup;
}

/** The range of IPv6 addresses that hosts can have (RFC 4291, 2.4). It excludes IPv4-compatible addresses (::/96). */
const globalUnicast = ipaddr.IPv6.parse('2000::');

/** Prefixes of IPv6 addresses that embed an IPv4 address from this byte on: NAT64 (RFC 6052) and 6to4 (RFC 3056). */
const embeddings = [
  { range: ipaddr.IPv6.parse('64:ff9b::'), bits: 96, at: 12 },
  { range: ipaddr.IPv6.parse('2002::'), bits: 16, at: 2 },
] as const;

/** The address that packets reach: the embedded IPv4 address, or the address itself. */
function unwrap(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  const parsed = ipaddr.process(address); // unwraps IPv4-mapped addresses
  if (parsed instanceof ipaddr.IPv4) return parsed;
  const found = embeddings.find(({ range, bits }) => parsed.match(range, bits));
  return found === undefined ? parsed : new ipaddr.IPv4(parsed.toByteArray().slice(found.at, found.at + 4));
}

/**
 * Whether an IP address is an ordinary public one, after unwrapping IPv4 in IPv6 (mapped, NAT64, 6to4). Teredo and other special ranges are
 * not public.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = unwrap(address);
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(globalUnicast, 3)) return false;
  return parsed.range() === 'unicast';
}

/** Whether an address lies in one of these ranges (CIDR notation), after unwrapping IPv4 in IPv6. For `allowPrivate`. */
export function inRanges(ranges: readonly string[]): (address: string) => boolean {
  const parsed = ranges.map((range) => ipaddr.parseCIDR(range));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const found = unwrap(address);
    return parsed.some(([start, bits]) => start.kind() === found.kind() && found.match(start, bits));
  };
}

/**
 * The HTTP client for addresses that users chose. It checks the address of each new connection, not the text of the URL: it resolves a name
 * once, requires that every address is public, and connects to exactly these addresses, so that a second DNS response changes nothing.
 * Connections fail with `address_refused`, possibly as the cause of undici's error. Does not follow redirects. Close it at the end.
 */
export function createGuardedAgent(options: GuardedAgentOptions = {}): Agent {
  const isAllowed = allowedBy(options);
  const connect = buildConnector({
    timeout: 10_000,
    allowH2: false,
    lookup: guardedLookup(options.lookup ?? systemLookup, isAllowed),
  });
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    connect: (target, done) => {
      // undici does not call `lookup` for a host that is an IP address.
      const host = withoutBrackets(target.hostname);
      if (isIP(host) !== 0 && !isAllowed(host)) done(addressRefused(), null);
      else connect(target, done);
    },
  });
}

function guardedLookup(lookup: typeof systemLookup, isAllowed: (address: string) => boolean): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        done(error, '');
        return;
      }
      const [first] = found;
      if (first === undefined || !found.every(({ address }) => isAllowed(address))) done(addressRefused(), '');
      else if (options.all === true) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}

/** Rejects with `address_refused` for a host to which a guarded agent would not connect. */
export function addressCheck(options: GuardedAgentOptions): (host: string) => Promise<void> {
  const isAllowed = allowedBy(options);
  const lookup = guardedLookup(options.lookup ?? systemLookup, isAllowed);
  return async (name) => {
    const host = withoutBrackets(name);
    if (isIP(host) !== 0) {
      if (!isAllowed(host)) throw addressRefused();
      return;
    }
    await new Promise<void>((resolve, reject) => {
      lookup(host, {}, (error) => {
        if (error === null) resolve();
        else reject(error instanceof AppError ? error : addressRefused(error));
      });
    });
  };
}

function allowedBy({ allowPrivate = false }: GuardedAgentOptions): (address: string) => boolean {
  const isPrivateAllowed = typeof allowPrivate === 'function' ? allowPrivate : () => allowPrivate;
  return (address) => isPublicAddress(address) || isPrivateAllowed(address);
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
