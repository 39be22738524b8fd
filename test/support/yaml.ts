import { parsers } from 'prettier/plugins/yaml';

/** A node of the syntax tree that prettier's own YAML parser makes. */
interface Node {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly (Node | null)[];
  readonly anchor?: { readonly value: string } | null;
}

export type YamlValue = string | number | boolean | null | YamlValue[] | { [key: string]: YamlValue };

/** Reads one YAML document: anchors, aliases and merge keys (`<<`) included, tags not. Throws for what is not YAML or names a key twice. */
export function parseYaml(text: string): YamlValue {
  const { parse } = parsers['yaml'] as unknown as { parse(text: string, options: object): Node };
  return valueOf(content(parse(text, {})), new Map());
}

/** Down to the node that holds the value. */
function content(node: Node): Node | null {
  if (!['root', 'document', 'documentBody'].includes(node.type)) return node;
  const child = node.children?.find(
    (candidate) => candidate && (candidate.type === 'document' || candidate.type === 'documentBody' || node.type === 'documentBody'),
  );
  return child ? content(child) : null;
}

function valueOf(node: Node | null | undefined, anchors: Map<string, YamlValue>): YamlValue {
  if (!node) return null;
  const value = withoutAnchor(node, anchors);
  if (node.anchor) anchors.set(node.anchor.value, value);
  return value;
}

function withoutAnchor(node: Node, anchors: Map<string, YamlValue>): YamlValue {
  switch (node.type) {
    case 'alias': {
      const known = anchors.get(node.value!);
      if (known === undefined) throw new SyntaxError(`*${node.value!} names no anchor`);
      return structuredClone(known);
    }
    case 'mapping':
    case 'flowMapping':
      return mappingOf(node, anchors);
    case 'sequence':
    case 'flowSequence':
      return (node.children ?? []).map((item) =>
        valueOf(item?.type === 'sequenceItem' || item?.type === 'flowSequenceItem' ? item.children?.[0] : item, anchors),
      );
    case 'plain':
      return scalar(node.value!);
    case 'null':
      return null;
    default:
      return node.value ?? null;
  }
}

/** Own keys win over merged ones, wherever the merge stands. */
function mappingOf(node: Node, anchors: Map<string, YamlValue>): YamlValue {
  const merged: Record<string, YamlValue> = {};
  const own: Record<string, YamlValue> = {};
  for (const pair of node.children ?? []) {
    const [keyNode, valueNode] = pair!.children!;
    const key = keyNode?.children?.[0]?.value ?? '';
    const value = valueOf(valueNode?.children?.[0], anchors);
    if (key === '<<') Object.assign(merged, value);
    else if (Object.hasOwn(own, key)) throw new SyntaxError(`the key ${key} stands twice in one mapping`);
    else own[key] = value;
  }
  return { ...merged, ...own };
}

function scalar(text: string): YamlValue {
  if (['', '~', 'null'].includes(text)) return null;
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
