import { Module } from '@nestjs/common';

import { BUS, type Bus, systemClock } from '#platform';

import { ModelCatalog } from './model-catalog.js';
import { ModelProvidersRepository } from './providers/model-providers.repository.js';
import { ModelProvidersService } from './providers/model-providers.service.js';
import { WorkspaceModels } from './providers/workspace-models.js';

/** The models of the installation and of its workspaces. */
@Module({
  providers: [
    ModelCatalog,
    ModelProvidersRepository,
    ModelProvidersService,
    {
      provide: WorkspaceModels,
      inject: [ModelProvidersRepository, BUS],
      useFactory: (providers: ModelProvidersRepository, bus: Bus) => new WorkspaceModels(providers, bus, systemClock),
    },
  ],
  exports: [ModelCatalog, ModelProvidersService],
})
export class ModelsModule {}
