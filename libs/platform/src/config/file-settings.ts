import { z } from 'zod';

import { httpUrl, list, ms, text, textOr, whole } from './setting-kinds.js';

const types =
  'image/png,image/jpeg,image/gif,image/webp,application/pdf,text/plain,text/markdown,text/csv,application/json';

/** Settings of files and attachments. */
export const fileSettings = {
  MAX_FILE_BYTES: whole([10_485_760, 1_024, 52_428_800], 'Maximum size of a file.'),
  FILE_TYPES: z
    .string()
    .default(types)
    .transform((list) => list.split(',').map((type) => type.trim().toLowerCase()))
    .pipe(z.array(z.string().regex(/^[a-z]+\/[a-z0-9.+-]+$/)).min(1))
    .meta({
      allowed: 'a comma-separated list of media types',
      fallback: types,
      description: 'Allowed media types of files.',
    }),
  FILE_BYTES_PER_WORKSPACE: whole([1_073_741_824, 1_024, 1e15], 'Maximum total size of the files of a workspace.'),
  FILE_RETENTION_MS: ms(
    [30 * 86_400_000, 60_000, 4_000 * 86_400_000],
    'How long the server keeps a file that no message refers to, counted from its last upload or use.',
  ),
  FILE_BYTES_PER_MODEL_REQUEST: whole(
    [20_971_520, 1_024, 104_857_600],
    'Maximum total size of files in one model request. If a conversation has more, the newest files are sent.',
  ),
  TEXT_ONLY_MODELS: list(
    'names or globs of models',
    () => true,
    'Models that accept neither images nor PDFs. A start with such an attachment is rejected.',
  ),
  S3_BUCKET_URL: httpUrl(
    'URL of the bucket that stores the content of files instead of Postgres, such as https://s3.eu-central-1.amazonaws.com/my-bucket.',
  ),
  S3_REGION: textOr('us-east-1', 'Region of the bucket.'),
  S3_ACCESS_KEY_ID: text('Access key for the bucket.'),
  S3_SECRET_ACCESS_KEY: text('Secret of the access key.'),
};
