import { Module } from '@nestjs/common';

import { ReadToolOutput } from './read-tool-output.tool.js';
import { ToolOutputsRepository } from './tool-outputs.repository.js';

/** Results that are too large for the ledger, and the tool that pages through them. Requires a global `PlatformModule`. */
@Module({ providers: [ReadToolOutput, ToolOutputsRepository], exports: [ToolOutputsRepository] })
export class OutputsModule {}
