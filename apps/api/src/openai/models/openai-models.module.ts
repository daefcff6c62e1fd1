import { Module } from '@nestjs/common';

import { ChatModule } from '#chat';

import { ModelDirectory } from './model-directory.js';

/** What the models of `/v1` are. */
@Module({ imports: [ChatModule], providers: [ModelDirectory], exports: [ModelDirectory] })
export class OpenAiModelsModule {}
