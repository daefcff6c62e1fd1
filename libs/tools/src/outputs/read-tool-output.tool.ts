import { Injectable } from '@nestjs/common';
import { z } from 'zod';

import { defineTool } from '../define-tool.js';
import { ToolProvider } from '../tool-registry.module.js';
import { ToolOutputsRepository } from './tool-outputs.repository.js';

const MOST = 32_768;
const USUAL = 16_384;

const input = z.object({
  call_id: z.string().min(1).max(256).describe('Id of the tool call whose result was cut, as its note gives it'),
  offset: z.int().min(0).optional().describe('Where to begin, in characters (UTF-16); default 0'),
  length: z.int().min(1).max(MOST).optional().describe(`How much to read; default ${USUAL}`),
});

/** Pages through the result of an earlier call of the same job or thread. */
@Injectable()
export class ReadToolOutput extends ToolProvider {
  constructor(private readonly outputs: ToolOutputsRepository) {
    super();
  }

  readonly tool = defineTool({
    name: 'read_tool_output',
    description:
      'Reads more of an earlier tool result that was cut: one whose text ends with "[truncated, N bytes in total]".',
    input,
    effect: 'pure',
    repeatable: true,
    execute: async ({ call_id: callId, offset = 0, length = USUAL }, context) => {
      const text = await this.outputs.find(context, callId);
      if (text === null) throw new Error(`no result of a call "${callId}" is kept in this job or thread`);
      return pageOf(text, offset, length);
    },
  });
}

/** A part of a text and where it stands. It neither begins nor ends within a character. */
export function pageOf(text: string, offset: number, length: number): string {
  if (offset >= text.length) return `[nothing after ${text.length} characters]`;
  const start = isWithin(text, offset) ? offset - 1 : offset;
  const wanted = Math.min(text.length, offset + length);
  const end = isWithin(text, wanted) ? wanted + 1 : wanted;
  const place = `characters ${start} to ${end} of ${text.length}`;
  return `${text.slice(start, end)}\n[${end < text.length ? `${place}, go on at offset ${end}` : `${place}, the end`}]`;
}

/** Between the halves of a surrogate pair. */
function isWithin(text: string, at: number): boolean {
  return at > 0 && at < text.length && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}
