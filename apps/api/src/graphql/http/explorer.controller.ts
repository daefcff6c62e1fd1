import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';

import { Public } from '#auth/api';
import { AppError, Config } from '#platform';
import { ApiMediaReply, ApiPublic } from '#platform/api';

import { explorerFiles, explorerTexts } from './explorer-page.js';

/** The files of the GraphQL explorer. They contain no data, so no credential is required. */
@ApiTags('Operations')
@ApiPublic()
@Public()
@Controller('explorer')
export class ExplorerController {
  constructor(private readonly config: Config) {}

  /** Throws `not_found`. */
  @Get(':file')
  @ApiOperation({
    operationId: 'getExplorerFile',
    summary: 'Get a file of the GraphQL explorer, which browsers get at /graphql',
  })
  @ApiMediaReply(200, 'The file.', { '*/*': 'Scripts and styles.' })
  file(@Param('file') name: string, @Res() response: Response): void {
    const path = explorerFiles.get(name);
    const own = explorerTexts.get(name);
    if (!this.config.values.GRAPHQL_EXPLORER || (path === undefined && own === undefined))
      throw new AppError({ code: 'not_found', message: 'Not found' });
    response.setHeader('Cache-Control', 'public, max-age=3600');
    if (path !== undefined) response.sendFile(path, { cacheControl: false });
    else response.type(own?.type ?? 'txt').send(own?.text);
  }
}
