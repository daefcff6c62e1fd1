import { Field, InputType } from '@nestjs/graphql';

import type { ChatMessage, ContentPart } from '#models';
import { AppError } from '#platform';

import { toFilePart } from '../../attachments/file-parts.js';

const maxAttachments = 20;

@InputType({ description: 'A file of the workspace, attached to a message. `POST /api/files` uploads it.' })
export class FileAttachmentInput {
  @Field(() => String, { description: 'The hash that the upload returned.' })
  hash!: string;

  @Field(() => String, { description: 'The media type that the upload returned.' })
  mime!: string;

  @Field(() => String, { nullable: true, description: 'Its name, for the model. Absent: the name of the upload.' })
  name?: string | null;
}

type Given = Pick<FileAttachmentInput, 'hash' | 'mime'> & { readonly name?: string | null | undefined };

/** The message with the files after its content. Throws `bad_request` with the invalid field. Pure. */
export function attachTo(message: ChatMessage, given: readonly Given[] | null | undefined): ChatMessage {
  if (given == null || given.length === 0) return message;
  if (message.role !== 'user') throw invalid('attachments', 'Only messages with the role user have attachments');
  if (given.length > maxAttachments) throw invalid('attachments', `attachments exceeds ${maxAttachments} entries`);
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content;
  return { ...message, content: [...parts, ...given.map(toPart)] };
}

function toPart({ hash, mime, name }: Given, index: number): ContentPart {
  const field = `attachments.${index}.hash`;
  if (!/^[0-9a-f]{64}$/.test(hash)) throw invalid(field, `${field} must be a SHA-256 in lower-case hex`);
  return toFilePart({ hash, mime, ...(name == null ? {} : { name }) });
}

function invalid(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}
