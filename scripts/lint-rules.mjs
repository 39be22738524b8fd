/**
 * Rules of this repository that no linter brings, in the form of an ESLint plugin; `.oxlintrc.json` says where each
 * holds.
 */

const topLevel = (node) =>
  node.parent.type === 'Program' ||
  (node.parent.type === 'ExportNamedDeclaration' && node.parent.parent.type === 'Program');

const PASCAL_CASE = /^[A-Z][A-Za-z0-9]*$/;
const CAMEL_CASE = /^[a-z][A-Za-z0-9]*$/;

const noExportAll = {
  create: (context) => ({
    ExportAllDeclaration: (node) =>
      context.report({ node, message: 'No barrels: import from the file that holds the concept.' }),
  }),
};

/** Types in PascalCase, functions in camelCase. */
const names = {
  create(context) {
    const check = (form, called) => (node) => {
      if (node.id && !form.test(node.id.name))
        context.report({ node: node.id, message: `"${node.id.name}" is not in ${called}.` });
    };
    const type = check(PASCAL_CASE, 'PascalCase');
    return {
      TSTypeAliasDeclaration: type,
      TSInterfaceDeclaration: type,
      ClassDeclaration: type,
      FunctionDeclaration: check(CAMEL_CASE, 'camelCase'),
    };
  },
};

const isEmptyCollection = ({ init }) =>
  init?.type === 'NewExpression' && /^(Weak)?(Map|Set)$/.test(init.callee.name) && init.arguments.length === 0;

/** Pure folders: time and chance enter as data, so that a replay is exact. */
const pure = {
  create(context) {
    const isCallOf = (callee, object, property) =>
      callee.type === 'MemberExpression' && callee.object.name === object && callee.property.name === property;
    return {
      CallExpression(node) {
        if (isCallOf(node.callee, 'Date', 'now')) context.report({ node, message: 'Time enters as event data.' });
        if (isCallOf(node.callee, 'Math', 'random')) context.report({ node, message: 'Chance enters as data.' });
      },
      NewExpression(node) {
        if (node.callee.name === 'Date' && node.arguments.length === 0)
          context.report({ node, message: 'Time enters as event data.' });
      },
    };
  },
};

/** Nothing is kept between calls beside `memoized` and `once`. */
const noModuleState = {
  create: (context) => ({
    VariableDeclaration(node) {
      if (topLevel(node) && (node.kind === 'let' || node.declarations.some(isEmptyCollection)))
        context.report({ node, message: 'No state between calls: see `memoized` and `once`.' });
    },
  }),
};

/** A cast claims what a type guard, a form or a typed handle would check. */
const noCasts = {
  create(context) {
    const report = (node) => {
      if (node.typeAnnotation.typeName?.name !== 'const')
        context.report({ node, message: 'No casts here: check the value, or type where it comes from.' });
    };
    return { TSAsExpression: report, TSTypeAssertion: report };
  },
};

export default {
  meta: { name: 'house' },
  rules: { 'no-casts': noCasts, 'no-export-all': noExportAll, 'no-module-state': noModuleState, names, pure },
};
