import { z } from 'zod';

import type { GuardedFetch } from '#platform';
import { defineTool, type Tool } from '#tools';

import { askJson } from './ask-json.js';
import { below } from './search-backends.js';

// Clients advertise exactly this schema, so the handler checks further limits.
const input = z.object({
  id: z.string().describe('CoinGecko id of the coin, such as "bitcoin"'),
  vs_currency: z.string().optional().describe('The currency of the price, such as "eur"; default usd'),
});

const prices = z.record(z.string(), z.record(z.string(), z.number()));

/** `coingecko_price`: the price of a coin. `base` is the URL of CoinGecko. */
export function coingeckoPriceTool(fetch: GuardedFetch, base: string): Tool {
  return defineTool({
    name: 'coingecko_price',
    description: 'Gives the current price of a crypto currency.',
    input,
    effect: 'pure',
    repeatable: true,
    execute: async ({ id, vs_currency: currency = 'usd' }, { signal }) => {
      const [coin, unit] = [id, currency].map((text) => text.trim().toLowerCase());
      if (coin === undefined || unit === undefined || ![coin, unit].every((text) => /^[\w.-]{1,100}$/.test(text))) {
        throw new Error('"id" and "vs_currency" are ids such as "bitcoin" and "usd"');
      }
      const url = below(base, 'simple/price', { ids: coin, vs_currencies: unit });
      const parsed = prices.safeParse(await askJson(fetch, { url, signal }, 'CoinGecko'));
      const price = parsed.success ? parsed.data[coin]?.[unit] : undefined;
      if (price === undefined) throw new Error(`CoinGecko has no price of "${coin}" in "${unit}"`);
      return { id: coin, vs_currency: unit, price };
    },
  });
}
