/** The keys of a record, by their own type. */
export function keysOf<Key extends string>(record: Readonly<Partial<Record<Key, unknown>>>): Key[] {
  const isKey = (text: string): text is Key => Object.hasOwn(record, text);
  return Object.keys(record).filter(isKey);
}
