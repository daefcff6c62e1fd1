import { invalidField } from '#platform/api';

import type { Attachment } from '../engine/node-executor.js';

const types = ['image', 'audio', 'video', 'file'] as const;

/** Attachments as clients send them: with a `url`, or with `content` in base64. Throws `bad_request` naming `field`. Pure. */
export function toAttachments(given: readonly unknown[], field: string): readonly Attachment[] {
  return given.map((item, index) => {
    const invalid = (problem: string) => invalidField(field, problem, `${field}.${index}`);
    if (typeof item !== 'object' || item === null) throw invalid('must be an object');
    const { type, url, content, name, mimeType }: Readonly<Record<string, unknown>> = { ...item };
    const known = types.find((each) => each === type);
    const media = typeof mimeType === 'string' && mimeType !== '' ? mimeType : undefined;
    const place = typeof url === 'string' && url !== '' ? url : fromContent(content, media);
    if (known === undefined) throw invalid(`must have a type: ${types.join(', ')}`);
    if (place === undefined) throw invalid('must have a url or content');
    return {
      type: known,
      url: place,
      ...(typeof name === 'string' && name !== '' ? { name } : {}),
      ...(media === undefined ? {} : { mimeType: media }),
    };
  });
}

function fromContent(content: unknown, media = 'application/octet-stream'): string | undefined {
  if (typeof content !== 'string' || content === '') return undefined;
  return content.startsWith('data:') ? content : `data:${media};base64,${content}`;
}
