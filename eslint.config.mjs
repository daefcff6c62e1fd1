import simpleImportSort from 'eslint-plugin-simple-import-sort';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const atMost = (max, selector) => ({
  selector: `${selector}[params.length>${max}]`,
  message: `More than ${max} parameters: pass one object.`,
});

const restrictedImports = [
  { name: '@nestjs/core', importNames: ['ModuleRef'], message: 'No service locator.' },
  { name: '@nestjs/common', importNames: ['forwardRef'], message: 'A third file is missing.' },
];

export default defineConfig(
  { ignores: ['**/dist/', '**/generated/', '.nightshift/', '**/*.mjs', '**/*.cjs', 'prisma.config.ts'] },
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ['./packages/*/tsconfig.json', './tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { 'simple-import-sort': simpleImportSort },
    rules: {
      'max-lines': ['error', { max: 400, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipComments: true }],
      // Nest declares its options as classes and documents literals.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // We declare no enums (see no-restricted-syntax), and this rule takes an eighth of the time of the linter.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      'no-console': 'error',
      'simple-import-sort/imports': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Take the injected config.' },
      ],
      'no-restricted-imports': ['error', { paths: restrictedImports }],
      'no-restricted-syntax': [
        'error',
        { selector: 'TSEnumDeclaration', message: 'Declare a union of string literals.' },
        atMost(3, 'FunctionDeclaration'),
        atMost(3, 'ArrowFunctionExpression'),
        atMost(3, "MethodDefinition[kind='method'] > FunctionExpression"),
        atMost(8, "MethodDefinition[kind='constructor'] > FunctionExpression"),
      ],
    },
  },
  {
    files: ['libs/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [
            ...restrictedImports.slice(0, 1),
            {
              name: '@nestjs/common',
              importNames: ['forwardRef', 'HttpException'],
              message: 'Libraries throw AppError; apps/api maps it.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['libs/platform/src/config/**', 'apps/cli/src/environment.ts', 'apps/launcher/src/environment-file*.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  { files: ['**/*.spec.ts', '**/*-spec.ts', '**/*.contract.ts'], rules: { 'max-lines-per-function': 'off' } },
  { files: ['test/**', 'bench/**'], rules: { 'no-restricted-properties': 'off' } },
);
