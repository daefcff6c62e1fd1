import { Module } from '@nestjs/common';

import { FeatureFlagsRepository } from './feature-flags.repository.js';
import { FeatureFlags } from './feature-flags.service.js';

/** One cache of feature flags for all work of a process. Requires a global `PlatformModule`. */
@Module({ providers: [FeatureFlagsRepository, FeatureFlags], exports: [FeatureFlags] })
export class FeatureFlagsModule {}
