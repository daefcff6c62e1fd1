import { Injectable } from '@nestjs/common';

import { type FeatureFlagRow, PrismaService } from '#platform';

import { type FeatureFlag, MAX_FLAGS } from './feature-flag.js';

/** Reads the feature flags of the installation. */
@Injectable()
export class FeatureFlagsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** All flags by name, at most 100. */
  async all(): Promise<FeatureFlag[]> {
    const rows = await this.prisma.asWorker((client) =>
      client.featureFlag.findMany({ orderBy: { name: 'asc' }, take: MAX_FLAGS }),
    );
    return rows.map(toFeatureFlag);
  }
}

/** Converts a row. */
export function toFeatureFlag(row: FeatureFlagRow): FeatureFlag {
  const { name, description, defaultOn, rolloutPercent, allowed, denied } = row;
  const rolloutBy = row.rolloutBy === 'user' ? 'user' : 'workspace';
  return { name, description, defaultOn, rolloutPercent, rolloutBy, allowed, denied };
}
