// The VS Code extension: starts `cudasim dap` for debug sessions of type "cudasim", shows the thread in focus in the status
// bar, and has two commands that other debuggers lack.
"use strict";

const vscode = require("vscode");

/** The Python that has cudasim: the configuration's, the Python extension's, or `python3`. */
async function pythonOf(configuration, folder) {
  if (configuration.python) return configuration.python;
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (extension) {
    const api = extension.isActive ? extension.exports : await extension.activate();
    const environment = api?.environments?.getActiveEnvironmentPath?.(folder?.uri);
    if (environment) {
      const resolved = await api.environments.resolveEnvironment(environment);
      if (resolved?.executable?.uri) return resolved.executable.uri.fsPath;
    }
  }
  return "python3";
}

/** "block(0,0,0) thread(10,0,0)" of the body of an event or response that names a thread. */
function threadName(own) {
  return `block(${own.block.join(",")}) thread(${own.thread.join(",")})`;
}

/** Coordinates that a person has typed: "3", "10,0" or "(10,0,0)". Undefined for anything else. */
function coordinates(text) {
  const numbers = text.replace(/[()\s]/g, "").split(",").map(Number);
  if (numbers.length > 3 || numbers.some((n) => !Number.isInteger(n) || n < 0)) return undefined;
  return [...numbers, 0, 0].slice(0, 3);
}

class FocusItem {
  constructor() {
    this.item = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 50);
    this.item.command = "cudasim.focus";
    this.item.tooltip = "The simulated thread in focus. Click to choose another one.";
  }
  show(own) {
    if (!own?.block || !own?.thread) return;
    this.item.text = `$(circuit-board) ${own.kernel ?? "kernel"} ${threadName(own)}`;
    this.item.show();
  }
  hide() {
    this.item.hide();
  }
  dispose() {
    this.item.dispose();
  }
}

function activate(context) {
  const focus = new FocusItem();
  const session = () => {
    const active = vscode.debug.activeDebugSession;
    return active?.type === "cudasim" ? active : undefined;
  };

  const commands = {
    "cudasim.focus": async () => {
      const active = session();
      if (!active) return;
      const block = await vscode.window.showInputBox({ prompt: "Block (x,y,z); empty: the present one" });
      if (block === undefined) return;
      const thread = await vscode.window.showInputBox({ prompt: "Thread (x,y,z); empty: thread 0 of the block" });
      if (thread === undefined) return;
      const request = {};
      for (const [name, text] of [["block", block], ["thread", thread]]) {
        if (text.trim() === "") continue;
        request[name] = coordinates(text);
        if (request[name] === undefined) {
          vscode.window.showErrorMessage(`"${text}" is no ${name}: write x, x,y or x,y,z`);
          return;
        }
      }
      try {
        focus.show(await active.customRequest("cudasim/focus", request));
      } catch (error) {
        vscode.window.showErrorMessage(error.message);
      }
    },
    "cudasim.runToBarrier": async () => {
      const threadId = vscode.debug.activeStackItem?.threadId;
      try {
        await session()?.customRequest("cudasim/barrier", { threadId });
      } catch (error) {
        vscode.window.showErrorMessage(error.message);
      }
    },
  };
  for (const [name, run] of Object.entries(commands))
    context.subscriptions.push(vscode.commands.registerCommand(name, run));

  context.subscriptions.push(
    focus,
    vscode.debug.registerDebugConfigurationProvider("cudasim", {
      resolveDebugConfiguration(folder, configuration) {
        // F5 in a folder without launch.json.
        if (!configuration.type && !configuration.request && !configuration.name) {
          const editor = vscode.window.activeTextEditor;
          if (editor?.document.languageId !== "python") return undefined;
          return { type: "cudasim", name: "cudasim: current file", request: "launch", program: "${file}" };
        }
        return configuration;
      },
      async resolveDebugConfigurationWithSubstitutedVariables(folder, configuration) {
        return {
          ...configuration,
          cwd: configuration.cwd ?? folder?.uri.fsPath,
          python: await pythonOf(configuration, folder),
        };
      },
    }),
    vscode.debug.registerDebugAdapterDescriptorFactory("cudasim", {
      createDebugAdapterDescriptor(debugSession) {
        const { python } = debugSession.configuration;
        return new vscode.DebugAdapterExecutable(python, ["-m", "cudasim", "dap"]);
      },
    }),
    vscode.debug.registerDebugAdapterTrackerFactory("cudasim", {
      createDebugAdapterTracker() {
        return {
          onDidSendMessage(message) {
            if (message.type !== "event") return;
            if (message.event === "stopped") focus.show(message.body?.cudasim);
            if (message.event === "continued" || message.event === "terminated") focus.hide();
          },
          onExit: () => focus.hide(),
        };
      },
    }),
  );
}

module.exports = { activate, deactivate() {}, coordinates, threadName };
