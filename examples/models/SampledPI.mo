package SampledPI "A first-order process under a sampled PI controller"
  connector RealInput = input Real;
  connector RealOutput = output Real;
  block Process
    parameter Real T = 1 "time constant";
    RealInput u;
    RealOutput y(start = 0, fixed = true);
  equation
    T*der(y) + y = u;
  end Process;
  block Controller
    parameter Real Ts = 0.1 "sampling time";
    parameter Real K = 2, Ti = 0.5;
    parameter Real reference = 1;
    RealInput y;
    RealOutput u;
  protected
    discrete Real e(start = 0), integral(start = 0), held(start = 0);
  equation
    when sample(0, Ts) then
      e = reference - y;
      integral = pre(integral) + e*Ts/Ti;
      held = K*(e + integral);
    end when;
    u = held;
  end Controller;
  model Loop
    Process process(T = 1);
    Controller controller;
  equation
    connect(process.y, controller.y);
    connect(controller.u, process.u);
    annotation(experiment(StopTime = 5, Tolerance = 1e-9));
  end Loop;
end SampledPI;
