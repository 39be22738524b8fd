/* As much of React as the admin's parts use; the admin brings it. */
declare module 'react' {
  export type Node = string | number | boolean | null | undefined | Element | readonly Node[];
  export interface Element {
    readonly type: unknown;
  }
  export type Component<Props> = (props: Props) => Element | null;
  type Attributes = Readonly<Record<string, unknown>> | null;
  export function createElement(type: string, attributes: Attributes, ...children: readonly Node[]): Element;
  export function createElement<Props>(type: Component<Props>, props: Props): Element;
  export function useEffect(effect: () => void, depends: readonly unknown[]): void;
  export function useState<Value>(first: Value): [Value, (next: Value) => void];
}
