import { z } from 'zod';

import { named } from '#platform/api';

import { docsPath } from './docs-page.js';

/** The endpoints of this server. */
export interface Endpoints {
  readonly name: string;
  readonly about: string;
  /** Paths, by protocol. */
  readonly endpoints: Readonly<Record<string, string>>;
}

/** The response of `GET /`, the same for every caller. */
export const endpoints: Endpoints = {
  name: 'Nightshift',
  about: `Background jobs of language models with tools. ${docsPath} describes the routes; each of them requires "Authorization: Bearer <API key or token>".`,
  endpoints: {
    graphql: '/graphql',
    openai: '/v1',
    rest: '/api',
    docs: docsPath,
    openapi: '/openapi.json',
    health: '/healthz',
  },
};

export const endpointsReply = named(
  'Endpoints',
  z.object({
    name: z.string(),
    about: z.string(),
    endpoints: z.record(z.string(), z.string()).meta({ description: 'Paths, by protocol.' }),
  }),
);
