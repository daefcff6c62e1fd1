import { Controller, Get, Param, Res } from '@nestjs/common';
import type { Response } from 'express';

import { AppError } from '#platform';

import { docsFiles, docsHtml, docsPolicy, docsScript } from './docs-page.js';
import { type Endpoints, endpoints } from './endpoints.js';
import { type OpenApiDocument, toDocument } from './to-document.js';

/** What the API is, for programs and for people. No credential is asked for: it says nothing about anybody. */
@Controller()
export class OpenApiController {
  private readonly document = toDocument();

  @Get()
  index(): Endpoints {
    return endpoints;
  }

  @Get('openapi.json')
  openApi(): OpenApiDocument {
    return this.document;
  }

  @Get('docs')
  page(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', docsPolicy);
    response.type('html').send(docsHtml);
  }

  /** Only what the page consists of. Throws `not_found`. */
  @Get('docs/:file')
  file(@Param('file') name: string, @Res() response: Response): void {
    const path = docsFiles.get(name);
    if (path === undefined && name !== 'page.js') throw new AppError({ code: 'not_found', message: 'Not found' });
    response.setHeader('Cache-Control', 'public, max-age=3600');
    if (path === undefined) response.type('js').send(docsScript);
    else response.sendFile(path, { cacheControl: false });
  }
}
