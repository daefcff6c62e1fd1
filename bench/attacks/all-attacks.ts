import type { Attack } from './attack.js';
import { bodyAttacks } from './body-attacks.js';
import { featureAttacks } from './feature-attacks.js';
import { graphqlAttacks } from './graphql-attacks.js';
import { requestAttacks } from './request-attacks.js';
import { socketAttacks } from './socket-attacks.js';

/** Every attack of the bench. A new one is added to a file by topic, and that file's list here. */
export const allAttacks: readonly Attack[] = [
  ...bodyAttacks,
  ...requestAttacks,
  ...graphqlAttacks,
  ...socketAttacks,
  ...featureAttacks,
];
