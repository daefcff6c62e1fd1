import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';

import type { FileAttachmentInput, Nightshift } from '@nightshift/client';

import { usageError } from '../cli.errors.js';

/** Maximum files of one message at the server. */
const mostFiles = 20;

/** Types that a server accepts by default, by the extension of a file. */
const types: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.webp': 'image/webp',
};

interface LocalFile {
  readonly path: string;
  readonly content: Blob;
}

/** Collects the values of a flag that may be repeated. */
export const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** The files, opened: their bytes are read when they are sent. Throws a usage error for a path that is no readable file. */
export async function openFiles(paths: readonly string[]): Promise<readonly LocalFile[]> {
  if (paths.length > mostFiles) throw usageError(`A message can have at most ${mostFiles} files.`);
  return Promise.all(paths.map(async (path) => ({ path, content: await open(path) })));
}

/** Uploads the files, one after the other. */
export async function uploadFiles(
  { files }: Pick<Nightshift, 'files'>,
  opened: readonly LocalFile[],
): Promise<readonly FileAttachmentInput[]> {
  const attachments: FileAttachmentInput[] = [];
  for (const { path, content } of opened) {
    const name = basename(path);
    const { hash, mime } = await files.upload(content, { name });
    attachments.push({ hash, mime, name }); // the server knows the content perhaps by another name
  }
  return attachments;
}

async function open(path: string): Promise<Blob> {
  try {
    if (!(await stat(path)).isFile()) throw usageError(`${path} is not a file.`);
    return await openAsBlob(path, { type: types[extname(path).toLowerCase()] ?? 'text/plain' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw usageError(`${path} cannot be read: ${error.message}`);
  }
}
