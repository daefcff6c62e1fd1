import { Module } from '@nestjs/common';

import { FeatureFlagsModule } from '../../flags/feature-flags.module.js';
import { FeatureFlagsResolver } from './feature-flags.resolver.js';

/** The feature flags of the caller. */
@Module({ imports: [FeatureFlagsModule], providers: [FeatureFlagsResolver] })
export class FeatureFlagsApiModule {}
