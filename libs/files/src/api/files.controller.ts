import { Controller, Delete, Get, HttpCode, Param, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { z } from 'zod';

import type { MemberPrincipal } from '#auth';
import { CurrentPrincipal, PrincipalGuard, ReadsOwnBody, RequireAbility } from '#auth/api';
import { ApiMediaReply, ApiRefusals, ApiReply, named } from '#platform/api';

import { Files } from '../files.service.js';
import { fileNotFound } from '../store/file-store.errors.js';
import { FileDownload } from './file-download.js';
import { FileUpload } from './file-upload.js';

const uploaded = named(
  'File',
  z.object({
    hash: z.string().meta({ description: 'SHA-256 of the content, in hex.' }),
    mime: z.string(),
    bytes: z.int(),
    name: z.string().nullable(),
  }),
);
const names = z.object({ name: z.string().optional() });

/** Files by the hash of their content. */
@ApiTags('Files')
@Controller('api/files')
@UseGuards(PrincipalGuard)
export class FilesController {
  constructor(
    private readonly files: Files,
    private readonly uploads: FileUpload,
    private readonly downloads: FileDownload,
  ) {}

  @Post()
  @ApiOperation({
    operationId: 'uploadFile',
    summary: 'Upload a file',
    description:
      'The body is the content, and `Content-Type` its media type. An upload of the same content returns the same file.',
  })
  @ApiConsumes('*/*')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  @ApiQuery({ name: 'name', required: false, description: 'Its name.', schema: { type: 'string', maxLength: 255 } })
  @ApiReply(201, uploaded, 'The file is stored.')
  @ApiRefusals(400, 401, 403, 409, 413, 415, 429, 503)
  @RequireAbility('create', 'StoredFile')
  @ReadsOwnBody()
  async upload(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request,
    @Query({ schema: names }) query: z.infer<typeof names>,
  ): Promise<z.infer<typeof uploaded>> {
    const { hash, mime, bytes, name } = await this.uploads.receive(principal, request, query.name);
    return { hash, mime, bytes, name };
  }

  @Get(':hash')
  @ApiOperation({
    operationId: 'getFile',
    summary: 'Download a file',
    description: 'Supports `Range` and `If-None-Match`.',
  })
  @ApiParam({ name: 'hash', schema: { type: 'string' } })
  @ApiMediaReply(200, 'The content.', { '*/*': 'The content.' })
  @ApiMediaReply(206, 'A part of the content.', {})
  @ApiMediaReply(304, 'The client has the content.', {})
  @ApiMediaReply(416, 'The range is outside of the content.', {})
  @ApiRefusals(401, 404, 429, 503)
  @RequireAbility('read', 'StoredFile', { absent: fileNotFound })
  download(
    @CurrentPrincipal() principal: MemberPrincipal,
    @Req() request: Request<{ hash: string }>,
    @Res() response: Response,
  ): Promise<void> {
    return this.downloads.write(principal, request, response);
  }

  @Delete(':hash')
  @ApiOperation({ operationId: 'deleteFile', summary: 'Delete a file' })
  @ApiMediaReply(204, 'It is deleted.', {})
  @ApiRefusals(401, 403, 404, 503)
  @HttpCode(204)
  @RequireAbility('delete', 'StoredFile', { absent: fileNotFound })
  async remove(@CurrentPrincipal() principal: MemberPrincipal, @Param('hash') hash: string): Promise<void> {
    await this.files.remove(principal, hash);
  }
}
