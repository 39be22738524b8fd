/*
 * Machines connect guards and folds to event types by name. The library's types cannot follow that, so the name is
 * repeated where the event is read, and checked.
 */

interface AnyEvent {
  readonly type: string;
  readonly data: unknown;
}

type OfType<Event extends AnyEvent, Type extends string> = Extract<Event, { readonly type: Type }>;
export type DataOf<Event extends AnyEvent, Type extends string> = OfType<Event, Type>['data'];

const isOfType = <Event extends AnyEvent, Type extends Event['type']>(
  event: Event,
  ...types: readonly Type[]
): event is OfType<Event, Type> => types.some((type) => type === event.type);

/** The data of an event of these types. */
export function dataOf<Event extends AnyEvent, Type extends Event['type']>(
  event: Event,
  ...types: readonly Type[]
): DataOf<Event, Type> {
  if (!isOfType(event, ...types)) throw new Error(`${event.type} is not ${types.join(' or ')}`);
  return event.data;
}

/** For `setup`, which takes the types of a machine as values that are never read. */
export function typesOf<Context, Event>(): { context: Context; events: Event };
export function typesOf(): object {
  return {};
}
