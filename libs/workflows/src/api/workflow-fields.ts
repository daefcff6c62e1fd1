import { AppError } from '#platform';

type Fields = Readonly<Record<string, unknown>>;

/** Members of a body that must have a type when they are there. Null counts as absent, and so does an empty text. */
export class WorkflowFields {
  constructor(
    private readonly fields: Fields,
    private readonly prefix = '',
  ) {}

  text(name: string): string | undefined {
    const value = this.given(name);
    if (value === undefined || value === '') return undefined;
    return typeof value === 'string' ? value : this.refuse(name, 'a string');
  }

  number(name: string): number | undefined {
    const value = this.given(name);
    if (value === undefined) return undefined;
    return typeof value === 'number' ? value : this.refuse(name, 'a number');
  }

  /** A number of ours, or the version of a document. */
  version(name: string): number | string | undefined {
    const value = this.given(name);
    if (value === undefined || value === '') return undefined;
    return typeof value === 'number' || typeof value === 'string' ? value : this.refuse(name, 'a number or a string');
  }

  object(name: string): Fields | undefined {
    const value = this.given(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return this.refuse(name, 'an object');
    return { ...value };
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.given(name);
    if (value === undefined) return undefined;
    return Array.isArray(value) ? (value as readonly unknown[]) : this.refuse(name, 'an array'); // of anything
  }

  texts(name: string): readonly string[] {
    const list = this.list(name) ?? [];
    const texts = list.filter((item) => typeof item === 'string');
    return texts.length === list.length ? texts : this.refuse(name, 'an array of strings');
  }

  private given(name: string): unknown {
    const value = Object.hasOwn(this.fields, name) ? this.fields[name] : undefined;
    return value ?? undefined;
  }

  private refuse(name: string, type: string): never {
    const field = `${this.prefix}${name}`;
    throw new AppError({ code: 'bad_request', message: `${field} must be ${type}`, field });
  }
}
