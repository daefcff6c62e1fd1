import { defined } from '#platform';
import { invalidField } from '#platform/api';

import type { Attachment } from '../engine/node-executor.js';
import { toFileAttachment } from '../nodes/attachments.js';

const types = ['image', 'audio', 'video', 'file'] as const;

/** Attachments as clients send them: with the `hash` of a file of the workspace, with a `url`, or with `content` in base64. Throws `bad_request` naming `field`. Pure. */
export function toAttachments(given: readonly unknown[], field: string): readonly Attachment[] {
  return given.map((item, index) => {
    const invalid = (problem: string) => invalidField(field, problem, `${field}.${index}`);
    if (typeof item !== 'object' || item === null) throw invalid('must be an object');
    const { type, url, content, name, mimeType, hash, mime }: Readonly<Record<string, unknown>> = { ...item };
    if (hash !== undefined && hash !== null) return toStored({ hash, mime, name }, invalid);
    const known = types.find((each) => each === type);
    const media = typeof mimeType === 'string' && mimeType !== '' ? mimeType : undefined;
    const place = typeof url === 'string' && url !== '' ? url : fromContent(content, media);
    if (known === undefined) throw invalid(`must have a type: ${types.join(', ')}`);
    if (place === undefined) throw invalid('must have a hash, a url or content');
    return {
      type: known,
      url: place,
      ...(typeof name === 'string' && name !== '' ? { name } : {}),
      ...defined({ mimeType: media }),
    };
  });
}

function toStored(
  { hash, mime, name }: Readonly<Record<'hash' | 'mime' | 'name', unknown>>,
  invalid: (problem: string) => Error,
): Attachment {
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash))
    throw invalid('must have a hash that is a SHA-256 in lower-case hex');
  if (typeof mime !== 'string' || mime === '') throw invalid('must have the mime of its hash');
  return toFileAttachment({ hash, mime, ...(typeof name === 'string' && name !== '' ? { name } : {}) });
}

function fromContent(content: unknown, media = 'application/octet-stream'): string | undefined {
  if (typeof content !== 'string' || content === '') return undefined;
  return content.startsWith('data:') ? content : `data:${media};base64,${content}`;
}
