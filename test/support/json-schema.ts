type Schema = Readonly<Record<string, unknown>>;

/**
 * Where a value breaks a JSON Schema of OpenAPI 3.1, as `path: rule`; empty when it does not. Covers the keywords that
 * our document uses, and throws on any other.
 */
export function schemaFaults(
  document: { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } },
  schema: Schema,
  value: unknown,
  path = '$',
): string[] {
  const { $ref, anyOf, oneOf, allOf } = schema as {
    $ref?: string;
    anyOf?: Schema[];
    oneOf?: Schema[];
    allOf?: Schema[];
  };
  if ($ref !== undefined)
    return schemaFaults(document, document.components.schemas[$ref.split('/').at(-1)!]!, value, path);
  const choices = anyOf ?? oneOf;
  if (choices)
    return choices.some((choice) => schemaFaults(document, choice, value, path).length === 0)
      ? []
      : [`${path}: fits none of the alternatives`];
  if (allOf) return allOf.flatMap((part) => schemaFaults(document, part, value, path));
  const unknown = Object.keys(schema).filter((keyword) => !KNOWN.has(keyword));
  if (unknown.length > 0) throw new Error(`${path}: keywords that this checker does not know: ${unknown.join(', ')}`);
  const wrong = (rule: string, isWrong: boolean): string[] =>
    isWrong ? [`${path}: ${rule}, not ${JSON.stringify(value)?.slice(0, 80)}`] : [];
  const {
    type,
    enum: values,
    const: constant,
  } = schema as { type?: string | string[]; enum?: unknown[]; const?: unknown };
  const types = type === undefined ? [] : [type].flat();
  if (types.length > 0 && !types.some((name) => isOf(name, value))) return wrong(`must be ${types.join(' or ')}`, true);
  return [
    ...wrong(`must be one of ${JSON.stringify(values)}`, values !== undefined && !values.includes(value)),
    ...wrong(`must be ${JSON.stringify(constant)}`, 'const' in schema && constant !== value),
    ...(typeof value === 'string' ? stringFaults(schema, value, wrong) : []),
    ...(typeof value === 'number' ? numberFaults(schema, value, wrong) : []),
    ...(Array.isArray(value) ? arrayFaults(document, schema, value, path, wrong) : []),
    ...(isOf('object', value) ? objectFaults(document, schema, value as Record<string, unknown>, path, wrong) : []),
  ];
}

const KNOWN = new Set(
  'type enum const pattern minLength maxLength format minimum maximum exclusiveMinimum items maxItems minItems properties required additionalProperties propertyNames maxProperties description examples default'.split(
    ' ',
  ),
);
type Wrong = (rule: string, isWrong: boolean) => string[];
const limit = (schema: Schema, name: string): number | undefined => schema[name] as number | undefined;

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function stringFaults(schema: Schema, value: string, wrong: Wrong): string[] {
  return [
    ...wrong(
      'matches the pattern',
      schema.pattern !== undefined && !new RegExp(schema.pattern as string, 'u').test(value),
    ),
    ...wrong('is too short', value.length < (limit(schema, 'minLength') ?? 0)),
    ...wrong('is too long', value.length > (limit(schema, 'maxLength') ?? Infinity)),
    ...wrong('must be a URI', schema.format === 'uri' && !URL.canParse(value)),
  ];
}

function numberFaults(schema: Schema, value: number, wrong: Wrong): string[] {
  const tooSmall =
    value < (limit(schema, 'minimum') ?? -Infinity) || value <= (limit(schema, 'exclusiveMinimum') ?? -Infinity);
  return [...wrong('is too small', tooSmall), ...wrong('is too large', value > (limit(schema, 'maximum') ?? Infinity))];
}

function arrayFaults(
  document: Parameters<typeof schemaFaults>[0],
  schema: Schema,
  value: readonly unknown[],
  path: string,
  wrong: Wrong,
): string[] {
  const items = schema.items as Schema | undefined;
  return [
    ...wrong('has too many items', value.length > (limit(schema, 'maxItems') ?? Infinity)),
    ...wrong('has too few items', value.length < (limit(schema, 'minItems') ?? 0)),
    ...(items ? value.flatMap((item, index) => schemaFaults(document, items, item, `${path}[${index}]`)) : []),
  ];
}

function objectFaults(
  document: Parameters<typeof schemaFaults>[0],
  schema: Schema,
  value: Record<string, unknown>,
  path: string,
  wrong: Wrong,
): string[] {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>;
  const others = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  const additional = schema.additionalProperties as Schema | boolean | undefined;
  return [
    ...((schema.required ?? []) as string[]).flatMap((name) => wrong(`must have ${name}`, !Object.hasOwn(value, name))),
    ...wrong('has too many properties', Object.keys(value).length > (limit(schema, 'maxProperties') ?? Infinity)),
    ...Object.entries(properties).flatMap(([name, property]) =>
      Object.hasOwn(value, name) ? schemaFaults(document, property, value[name], `${path}.${name}`) : [],
    ),
    ...others.flatMap((name) => {
      if (additional === false) return wrong(`must not have ${name}`, true);
      return typeof additional === 'object' ? schemaFaults(document, additional, value[name], `${path}.${name}`) : [];
    }),
  ];
}
