import type { ApolloServerPlugin, GraphQLServerListener } from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import type { Request, Response } from 'express';

import { Config } from '#platform';

import { explorerHtml, explorerPolicy } from './explorer-page.js';

/** Whether Apollo Server answers a request with its landing page: a browser that opens `/graphql`. */
export function wantsExplorer(request: Request): boolean {
  if (request.method !== 'GET' || request.headers.accept?.includes('text/html') !== true) return false;
  return (
    request.accepts(['application/json', 'application/graphql-response+json', 'multipart/mixed', 'text/html']) ===
    'text/html'
  );
}

/** Prepares the response for the page that Apollo Server sends. */
export function allowExplorer(response: Response): void {
  response.setHeader('Content-Security-Policy', explorerPolicy);
}

/** Makes GraphiQL the landing page of Apollo Server. */
@Plugin()
export class ExplorerPlugin implements ApolloServerPlugin {
  constructor(private readonly config: Config) {}

  serverWillStart(): Promise<GraphQLServerListener> {
    if (!this.config.values.GRAPHQL_EXPLORER) return Promise.resolve({});
    return Promise.resolve({ renderLandingPage: () => Promise.resolve({ html: explorerHtml }) });
  }
}
