import { isIP } from 'node:net';

import ipaddr from 'ipaddr.js';
import { z } from 'zod';

export const flag = (fallback: boolean, about: string) =>
  z
    .enum(['true', 'false', '1', '0', 'on', 'off'])
    .default(fallback ? 'true' : 'false')
    .transform((text) => text === 'true' || text === '1' || text === 'on')
    .meta({ allowed: 'true, false, on, off, 1 or 0', fallback: String(fallback), description: about });
export const whole = (range: readonly [fallback: number, min: number, max: number], about: string) => {
  const [fallback, min, max] = range;
  const allowed = `a whole number from ${min} to ${max}`;
  const number = z.coerce.number().int().min(min).max(max).default(fallback);
  return number.meta({ allowed, fallback: String(fallback), description: about });
};
export const ms = (range: readonly [fallback: number, min?: number, max?: number], about: string) =>
  whole([range[0], range[1] ?? 1, range[2] ?? 7 * 86_400_000], about);
export const text = (about: string) => z.string().min(1).optional().meta({ allowed: 'any text', description: about });
export const textOr = (fallback: string, about: string) =>
  z.string().min(1).default(fallback).meta({ allowed: 'any text', fallback, description: about });
export const choice = (choices: readonly string[], fallback: string, description: string) => ({
  allowed: `${choices.slice(0, -1).join(', ')} or ${choices.at(-1) ?? ''}`,
  fallback,
  description,
});
export const secret = (about: string) =>
  z.string().min(32).optional().meta({ allowed: 'at least 32 characters', description: about });
/** A comma-separated list, empty by default. `one` validates an entry. */
export const list = (allowed: string, one: (entry: string) => boolean, about: string) =>
  z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    )
    .refine((entries) => entries.every(one))
    .meta({ allowed: `a comma-separated list of ${allowed}`, fallback: '', description: about });
export const isOrigin = (entry: string) => URL.canParse(entry) && new URL(entry).origin === entry;
export const isAddressRange = (entry: string) => ipaddr.isValidCIDR(entry);
export const isHostName = (entry: string) => /^[a-z0-9._-]{1,253}$/i.test(entry);
/** An IP address, or a network in CIDR notation. */
export const isNetwork = (entry: string) =>
  isIP(entry.split('/', 1)[0] ?? '') !== 0 && (!entry.includes('/') || isAddressRange(entry));
export const httpUrl = (about: string) =>
  z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ allowed: 'a URL that starts with http:// or https://', description: about });
export const httpUrlOr = (fallback: string, about: string) =>
  z
    .url({ protocol: /^https?$/ })
    .default(fallback)
    .meta({ allowed: 'a URL that starts with http:// or https://', fallback, description: about });
