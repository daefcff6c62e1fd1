import { docsPath } from './docs-page.js';

/** What this server is, and where. */
export interface Doors {
  readonly name: string;
  readonly about: string;
  /** Paths, by what is spoken there. */
  readonly doors: Readonly<Record<string, string>>;
}

/** For whoever calls at the server's address without knowing more. The same for everybody. */
export const doors: Doors = {
  name: 'Nightshift',
  about: `Background jobs of language models with tools. ${docsPath} describes the routes; each of them wants "Authorization: Bearer <API key or token>".`,
  doors: {
    graphql: '/graphql',
    openai: '/v1',
    rest: '/api',
    docs: docsPath,
    openapi: '/openapi.json',
    health: '/healthz',
  },
};
