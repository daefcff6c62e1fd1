import { Module } from '@nestjs/common';

import { ModelsModule } from '../models.module.js';
import { ModelProvidersResolver } from './model-providers.resolver.js';

/** The model providers of a workspace. */
@Module({
  imports: [ModelsModule],
  providers: [ModelProvidersResolver],
})
export class ModelProvidersApiModule {}
