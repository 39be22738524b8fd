/* Work counted rather than timed: the same on every machine and under any load. */

let touched = 0;

const sizeOf = (of: unknown): number =>
  Array.isArray(of) ? of.length : of instanceof Map || of instanceof Set ? of.size : 1;

/** Wraps a method so that a call counts the elements that it walks over; `one` if it always touches a single one. */
function counted(owner: object, name: PropertyKey, one: boolean): () => void {
  const described = Object.getOwnPropertyDescriptor(owner, name)!;
  const before = described.value as (...given: unknown[]) => unknown;
  Object.defineProperty(owner, name, {
    ...described,
    value(this: unknown, ...given: unknown[]): unknown {
      touched += one ? 1 : sizeOf(this);
      return before.apply(this, given);
    },
  });
  return () => void Object.defineProperty(owner, name, described);
}

/** `Object.keys` and its neighbours, which walk over what they are given. */
function countedKeys(name: 'keys' | 'values' | 'entries' | 'fromEntries'): () => void {
  const described = Object.getOwnPropertyDescriptor(Object, name)!;
  const before = described.value as (given: object) => unknown;
  Object.defineProperty(Object, name, {
    ...described,
    value(given: object): unknown {
      touched += name === 'fromEntries' ? 1 : Reflect.ownKeys(given).length;
      return before(given);
    },
  });
  return () => void Object.defineProperty(Object, name, described);
}

const WALKS = [
  ...['filter', 'map', 'flatMap', 'reduce', 'some', 'every', 'find', 'findIndex', 'includes', 'indexOf', 'forEach'],
  ...['sort', 'toSorted', 'slice', 'concat', 'values', Symbol.iterator],
];

/** How many elements of lists, maps and records the work touches. */
export function countedWork(work: () => unknown): number {
  const restore = [
    ...WALKS.map((name) => counted(Array.prototype, name, false)),
    ...['values', 'keys', 'entries', 'forEach', Symbol.iterator].map((name) => counted(Map.prototype, name, false)),
    ...['get', 'set', 'has', 'delete'].map((name) => counted(Map.prototype, name, true)),
    ...(['keys', 'values', 'entries', 'fromEntries'] as const).map(countedKeys),
  ];
  touched = 0;
  try {
    work();
    return touched;
  } finally {
    for (const undo of restore) undo();
  }
}
