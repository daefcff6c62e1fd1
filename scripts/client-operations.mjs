// Writes the types and documents of packages/client from apps/api/schema.gql and the operations beside it. With --check it
// writes nothing and fails when what is there is not what would be written.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { generate } from '@graphql-codegen/cli';

const target = join('packages', 'client', 'src', 'generated', 'graphql.ts');
const scalars = {
  ID: 'string',
  // Instants, as ISO 8601 texts.
  DateTime: 'string',
  JSON: 'unknown',
};
const config = {
  silent: true,
  schema: 'apps/api/schema.gql',
  documents: ['packages/client/src/operations/*.graphql'],
  generates: {
    'packages/client/src/generated/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: 'string',
        useTypeImports: true,
        enumType: 'string-literal',
        scalars,
        strictScalars: true,
        immutableTypes: true,
        avoidOptionals: false,
        importExtension: '.js',
      },
    },
  },
};

/** The package contains its documents and types: its users need no other package for them. */
function alone(text) {
  return text.replace(
    /import (?:type )?\{ DocumentTypeDecoration \} from '@graphql-typed-document-node\/core';\n/,
    "import type { DocumentTypeDecoration } from '../typed-document.js';\n",
  );
}

const files = await generate(config, false);
const generated = files.find(({ filename }) => filename.endsWith('graphql.ts'));
const text = alone(generated.content);
if (!process.argv.includes('--check')) {
  writeFileSync(target, text);
} else if (readFileSync(target, 'utf8') !== text) {
  process.stderr.write(`${target} does not fit the schema or its operations: npm run schema:client\n`);
  process.exitCode = 1;
}
