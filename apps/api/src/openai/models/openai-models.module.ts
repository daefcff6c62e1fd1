import { Module } from '@nestjs/common';

import { ChatModule } from '#chat';
import { ModelsModule } from '#models';
import { WorkflowsModule } from '#workflows';

import { ModelDirectory } from './model-directory.js';
import { ModelsController } from './models.controller.js';

/** The models of `/v1`. */
@Module({
  imports: [ChatModule, ModelsModule, WorkflowsModule],
  controllers: [ModelsController],
  providers: [ModelDirectory],
  exports: [ModelDirectory],
})
export class OpenAiModelsModule {}
