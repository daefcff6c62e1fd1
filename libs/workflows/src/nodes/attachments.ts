import type { FileReference } from '#files';
import type { ContentPart, MessageContent, UserMessage } from '#models';
import { defined } from '#platform';

import type { Attachment, NodeContext } from '../engine/node-executor.js';

/** The prefix of the hash of a workspace file. */
export const fileScheme = 'file:';

/** The attachment that refers to a file of the workspace. */
export function toFileAttachment({ hash, mime, name }: FileReference): Attachment {
  const type = mime.startsWith('image/') ? 'image' : 'file';
  return { type, url: `${fileScheme}${hash}`, ...defined({ name }), mimeType: mime };
}

/**
 * A user's message with its attachments: images if the model accepts them, files always. Null: the message is empty.
 * Each omitted attachment is reported as a warning.
 */
export async function userMessage(
  { view, ports }: Pick<NodeContext, 'view' | 'ports'>,
  text: string,
  model: string | null,
): Promise<UserMessage | null> {
  const parts: ContentPart[] = [];
  const dropped: Attachment[] = [];
  const takesImages = await canSeeImages({ view, ports }, model);
  for (const attachment of view.attachments) {
    const part = attachment.type === 'image' && !takesImages ? null : toPart(attachment);
    if (part === null) dropped.push(attachment);
    else parts.push(part);
  }
  for (const { type, name } of dropped) {
    ports.warn(
      'ATTACHMENT_DROPPED',
      `The model does not take the attached ${type}${name === undefined ? '' : ` "${name}"`}`,
    );
  }
  return toMessage(text, parts);
}

/** As `userMessage`, with images only. Other attachments are left out without a warning. */
export async function userMessageWithImages(
  { view, ports }: Pick<NodeContext, 'view' | 'ports'>,
  text: string,
  model: string | null,
): Promise<UserMessage> {
  const takesImages = await canSeeImages({ view, ports }, model);
  const images = takesImages ? view.attachments.filter(({ type }) => type === 'image') : [];
  const parts = images.map(toPart).filter((part) => part !== null);
  return toMessage(text, parts) ?? { role: 'user', content: text };
}

async function canSeeImages(
  { view, ports }: Pick<NodeContext, 'view' | 'ports'>,
  model: string | null,
): Promise<boolean> {
  return view.attachments.some(({ type }) => type === 'image') && (await ports.modelTakes(model, 'image'));
}

/** The types that chat messages support. A workspace file has a URL of our own, which stays a reference until the model is called. */
export function toPart({ type, url, name, mimeType }: Attachment): ContentPart | null {
  if (url.startsWith(fileScheme)) {
    const named = {
      ...defined({ mime: mimeType, filename: name }),
    };
    return { type: 'file', file: { file_id: url.slice(fileScheme.length), ...named } };
  }
  switch (type) {
    case 'image':
      return { type: 'image_url', image_url: { url } };
    case 'file':
      return { type: 'file', file: { ...defined({ filename: name }), file_data: url } };
    case 'audio':
    case 'video':
      return null;
  }
}

/** The attachment as a reference, if `part` is one. */
export function toStored(attachment: Attachment, part: ContentPart | undefined): Attachment {
  const { file_id: hash, mime } = part?.type === 'file' ? part.file : {};
  if (typeof hash !== 'string' || typeof mime !== 'string') return attachment;
  return { ...attachment, url: `${fileScheme}${hash}`, mimeType: mime };
}

function toMessage(text: string, parts: readonly ContentPart[]): UserMessage | null {
  if (text === '' && parts.length === 0) return null;
  const textParts: readonly ContentPart[] = text === '' ? [] : [{ type: 'text', text }];
  const content: MessageContent = parts.length === 0 ? text : [...textParts, ...parts];
  return { role: 'user', content };
}
