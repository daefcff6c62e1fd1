import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { Controller, Get, Header, HttpCode, Param, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags, type OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { z } from 'zod';

import { Public } from '#auth/api';
import { AppError, Config } from '#platform';
import { ApiMediaReply, ApiPublic, named } from '#platform/api';

import { OpenApiDocument } from './openapi-document.js';
import { rootHtml, rootPolicy } from './root-page.js';

/** The path of the page; the files of the page are below it. */
const docsPath = '/docs';

const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/** Files of the page that are served as they were published, each with its place on disk. */
const docsFiles: ReadonlyMap<string, string> = new Map(
  ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'].map((name) => [name, join(folder, name)]),
);

/** Starts the page. It is a separate file because the page's policy forbids inline scripts. It loads the document from here only. */
const docsScript = `window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#ui',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

/** Allows resources of this origin only; the style sheet contains its images as data. */
const docsPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const docsHtml = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Nightshift API</title>
    <link rel="icon" href="${docsPath}/favicon-32x32.png" />
    <link rel="stylesheet" href="${docsPath}/swagger-ui.css" />
  </head>
  <body>
    <div id="ui"></div>
    <noscript>This page draws <a href="/openapi.json">the OpenAPI document</a> with a script.</noscript>
    <script src="${docsPath}/swagger-ui-bundle.js"></script>
    <script src="${docsPath}/page.js"></script>
  </body>
</html>
`;

/** The endpoints of this server. */
interface Endpoints {
  readonly name: string;
  readonly about: string;
  /** Paths, by protocol. */
  readonly endpoints: Readonly<Record<string, string>>;
}

/** The response of `GET /` to programs, the same for every caller. */
const endpoints: Endpoints = {
  name: 'Nightshift',
  about: `Background jobs of language models with tools. ${docsPath} describes the routes. Requests for data (/graphql, /v1, /api) require "Authorization: Bearer <API key or token>"; /v1 accepts API keys only.`,
  endpoints: {
    graphql: '/graphql',
    openai: '/v1',
    rest: '/api',
    docs: docsPath,
    openapi: '/openapi.json',
    health: '/healthz',
  },
};

const endpointsReply = named(
  'Endpoints',
  z.object({
    name: z.string(),
    about: z.string(),
    endpoints: z.record(z.string(), z.string()).meta({ description: 'Paths, by protocol.' }),
  }),
);

/** The description of the API, for programs and for people. It needs no credential: it contains no data of users. */
@ApiTags('Operations')
@ApiPublic()
@Public()
@Controller()
export class OpenApiController {
  constructor(
    private readonly document: OpenApiDocument,
    private readonly config: Config,
  ) {}

  @Get()
  @ApiOperation({ operationId: 'getEndpoints', summary: 'List the endpoints' })
  @ApiMediaReply(200, 'The same for all callers.', {
    'application/json': endpointsReply,
    'text/html': 'A page with links, for browsers.',
  })
  index(@Req() request: Request, @Res() response: Response): void {
    response.vary('Accept');
    if (request.accepts(['application/json', 'text/html']) !== 'text/html') {
      response.json(endpoints);
      return;
    }
    response.setHeader('Content-Security-Policy', rootPolicy);
    response.type('html').send(rootHtml(this.config.values.GRAPHQL_EXPLORER));
  }

  /** Browsers request this path for every page that names no icon, such as a JSON document. */
  @Get('favicon.ico')
  @HttpCode(204)
  @Header('Cache-Control', 'public, max-age=86400')
  @ApiOperation({ operationId: 'getFavicon', summary: 'Respond to the icon request of browsers' })
  @ApiMediaReply(204, 'The server has no icon.', {})
  favicon(): void {
    // The status is the response.
  }

  @Get('openapi.json')
  @ApiOperation({ operationId: 'getOpenApi', summary: 'This document' })
  @ApiMediaReply(200, 'OpenAPI 3.1.', { 'application/json': 'The document.' })
  openApi(): OpenAPIObject {
    return this.document.get();
  }

  @Get('docs')
  @ApiOperation({ operationId: 'getDocs', summary: 'This document as a page' })
  @ApiMediaReply(200, 'The page.', { 'text/html': 'The page.' })
  page(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', docsPolicy);
    response.type('html').send(docsHtml);
  }

  /** Serves a file of the page. Throws `not_found` for any other name. */
  @Get('docs/:file')
  @ApiOperation({ operationId: 'getDocsFile', summary: 'Get a file of the page' })
  @ApiMediaReply(200, 'The file.', { '*/*': 'Scripts and styles.' })
  file(@Param('file') name: string, @Res() response: Response): void {
    const path = docsFiles.get(name);
    if (path === undefined && name !== 'page.js') throw new AppError({ code: 'not_found', message: 'Not found' });
    response.setHeader('Cache-Control', 'public, max-age=3600');
    if (path === undefined) response.type('js').send(docsScript);
    else response.sendFile(path, { cacheControl: false });
  }
}
