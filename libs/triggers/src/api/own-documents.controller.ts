import { Body, Controller, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';

import { RequireAbility } from '#auth/api';
import { AppError } from '#platform';
import { ApiRefusals, ApiReply, named } from '#platform/api';

import { filterOperators } from '../inbound/own-documents.repository.js';
import { OwnDocuments, type TokenBearer } from '../inbound/own-documents.service.js';
import { CurrentBearer, PreIssuedTokenGuard } from './pre-issued-token.guard.js';

const name = z.string().min(1).max(1_024);
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const document = z.looseObject({ id: z.string() });
const order = z.object({ field: z.literal('createdAt'), direction: z.enum(['asc', 'desc']).default('asc') });
const filter = z.object({ field: z.string().min(1).max(128), op: z.enum(filterOperators), value: scalar });
const bodies = {
  paths: named(
    'DocumentPaths',
    z.object({ paths: z.array(name).min(1).max(100) }).meta({ example: { paths: ['threads/the-id-of-the-thread'] } }),
  ),
  query: named(
    'DocumentQuery',
    z
      .object({
        collection: name,
        filters: z.array(filter).max(20).default([]),
        orderBy: z.array(order).max(1).default([]),
        limit: z.int().min(1).max(1_000).default(100),
        startAfter: z.string().max(256).nullish(),
      })
      .meta({ example: { collection: 'threads/the-id-of-the-thread/messages', limit: 20 } }),
  ),
  documents: named('Documents', z.object({ documents: z.array(document) })),
  page: named('DocumentPage', z.object({ documents: z.array(document), nextCursor: z.string().optional() })),
};

/** Serves the workspace documents of a thread to the receiver of a delivery with `preIssuedToken`. */
@ApiTags('Triggers')
@Controller('trigger/v1/databases/:database')
@UseGuards(PreIssuedTokenGuard)
export class OwnDocumentsController {
  constructor(private readonly documents: OwnDocuments) {}

  @Post('get')
  @ApiOperation({ operationId: 'getDocuments', summary: 'Read documents of the thread of a delivery' })
  @ApiReply(200, bodies.documents, 'Those that exist.')
  @ApiRefusals(400, 401, 403, 413, 422, 429)
  @HttpCode(200)
  @RequireAbility('read', 'Message')
  async get(
    @CurrentBearer() bearer: TokenBearer,
    @Param('database') database: string,
    @Body({ schema: bodies.paths }) { paths }: z.infer<typeof bodies.paths>,
  ): Promise<z.infer<typeof bodies.documents>> {
    return { documents: await this.documents.get(bearer, database, paths) };
  }

  @Post('query')
  @ApiOperation({ operationId: 'queryDocuments', summary: 'List documents of the thread of a delivery' })
  @ApiReply(200, bodies.page, 'One page, by the time of creation.')
  @ApiRefusals(400, 401, 403, 413, 422, 429)
  @HttpCode(200)
  @RequireAbility('read', 'Message')
  async query(
    @CurrentBearer() bearer: TokenBearer,
    @Param('database') database: string,
    @Body({ schema: bodies.query }) body: z.infer<typeof bodies.query>,
  ): Promise<z.infer<typeof bodies.page>> {
    const { collection, filters, orderBy, limit, startAfter = null } = body;
    const isDescending = orderBy[0]?.direction === 'desc';
    const page = await this.documents.query(bearer, database, { collection, filters, isDescending, limit, startAfter });
    return { ...page, documents: [...page.documents] };
  }

  @Post('write')
  @ApiOperation({ operationId: 'writeDocuments', summary: 'Refused: workspace documents are read-only' })
  @ApiRefusals(401, 403, 413, 429)
  @RequireAbility('read', 'Message')
  write(): never {
    const message = 'Messages, tool calls and jobs are only read here. Start a chat to add a message.';
    throw new AppError({ code: 'forbidden', message });
  }
}
