import { Injectable } from '@nestjs/common';
import { z } from 'zod';

import { defineTool } from '../define-tool.js';
import { ToolProvider } from '../tool-registry.module.js';
import { pageOf } from './page-of.js';
import { ToolOutputsRepository } from './tool-outputs.repository.js';

const MAX_LENGTH = 32_768;
const USUAL = 16_384;

const input = z.object({
  call_id: z.string().min(1).max(256).describe('Id of the tool call whose result was cut, as its note gives it'),
  offset: z.int().min(0).optional().describe('Where to begin, in characters (UTF-16); default 0'),
  length: z.int().min(1).max(MAX_LENGTH).optional().describe(`How much to read; default ${USUAL}`),
});

/** A tool that pages through the result of an earlier call of the same job or thread. */
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
    workerOnly: true,
    execute: async ({ call_id: callId, offset = 0, length = USUAL }, context) => {
      const part = await this.outputs.read(context, callId, { offset, length });
      if (part === null) throw new Error(`no result of a call "${callId}" is kept in this job or thread`);
      return pageOf(part, offset, length);
    },
  });
}
