import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';
import type { Request } from 'express';

import type { MemberPrincipal } from '#auth';
import { AppError, Config } from '#platform';
import { readRawBody } from '#platform/api';

import { toMediaType } from '../file-type.js';
import { fileTooLarge } from '../files.errors.js';
import { Files } from '../files.service.js';
import { type StoredFile, toFileName } from '../stored-file.js';
import { UploadLimiter } from './upload-limiter.js';

/** Reads the body of an upload. The type and the announced size are checked before a byte is read. */
@Injectable()
export class FileUpload {
  constructor(
    private readonly files: Files,
    private readonly config: Config,
    private readonly limiter: UploadLimiter,
  ) {}

  /** Throws `rate_limited`, and as `Files.save` and `readRawBody` do. */
  async receive(principal: MemberPrincipal, request: Request, givenName: string | undefined): Promise<StoredFile> {
    const { workspaceId, userId } = principal;
    const mime = toMediaType(request.headers['content-type'] ?? '');
    const name = givenName === undefined ? null : toName(givenName);
    this.files.assertAllowed(mime);
    const limitBytes = this.config.values.MAX_FILE_BYTES;
    if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw fileTooLarge(limitBytes);
    await this.limiter.take(userId);
    const hash = createHash('sha256');
    let saved: StoredFile | undefined;
    await readRawBody(request, userId, {
      limitBytes,
      onBytes: (bytes) => hash.update(bytes),
      use: async (content) => {
        const file = { workspaceId, createdBy: userId, content, mime, name };
        saved = await this.files.save({ ...file, hash: hash.digest('hex') });
      },
    });
    if (saved === undefined) throw new TypeError('The body of this request was read before');
    return saved;
  }
}

function toName(given: string): string {
  const name = toFileName(given);
  if (name === null)
    throw new AppError({ code: 'bad_request', message: 'A file name has 1 to 255 characters', field: 'name' });
  return name;
}
