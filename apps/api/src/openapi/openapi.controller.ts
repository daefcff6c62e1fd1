import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOperation, ApiTags, type OpenAPIObject } from '@nestjs/swagger';
import type { Response } from 'express';
import { z } from 'zod';

import { Public } from '#auth/api';
import { AppError } from '#platform';
import { ApiMediaReply, ApiPublic, ApiReply, named } from '#platform/api';

import { docsFiles, docsHtml, docsPath, docsPolicy, docsScript } from './docs-page.js';
import { OpenApiDocument } from './openapi-document.js';

/** The endpoints of this server. */
interface Endpoints {
  readonly name: string;
  readonly about: string;
  /** Paths, by protocol. */
  readonly endpoints: Readonly<Record<string, string>>;
}

/** The response of `GET /`, the same for every caller. */
const endpoints: Endpoints = {
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
  constructor(private readonly document: OpenApiDocument) {}

  @Get()
  @ApiOperation({ operationId: 'getEndpoints', summary: 'List the endpoints' })
  @ApiReply(200, endpointsReply, 'The same for everybody.')
  index(): Endpoints {
    return endpoints;
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

  /** Only what the page consists of. Throws `not_found`. */
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
