import { Module } from '@nestjs/common';

import { ToolsModule } from '../tools.module.js';
import { ToolsResolver } from './tools.resolver.js';

/** The tools that a workspace can use. */
@Module({
  imports: [ToolsModule],
  providers: [ToolsResolver],
})
export class ToolsApiModule {}
